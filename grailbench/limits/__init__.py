"""The ceilings that this machine sets: measured, stored, and shown beside times."""
