"""Networks: all of torch, imported only by methods that need it."""
