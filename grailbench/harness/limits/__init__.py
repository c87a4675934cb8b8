"""The ceilings of a machine: measuring, storing and reading them. `report.floors` compares times with them."""
