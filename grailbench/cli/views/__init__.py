"""What commands show on a screen."""
