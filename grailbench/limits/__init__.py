"""The ceilings that a machine sets: measured, stored, and read. What times are beside them is `report.floors`."""
