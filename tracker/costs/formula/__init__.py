"""Any cost that a formula can say: its reader, its derivatives, the code that is made of it, and its keys."""
