"""Transaction tables: discretization, blocks of columns, and the enrichments that build them."""
