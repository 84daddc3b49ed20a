//! Althing as tools of other programs' models: the Model Context Protocol on standard input and output.
