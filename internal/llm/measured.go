package llm

// Measured is a whole answer of which only the parts were read that decide its cost. It can be used again.
type Measured struct {
	Reply           // without its texts and extra members
	Room  [1]Choice // memory for the choices
	Text  int       // bytes of the text, as the provider wrote it
	Place Span      // of the usage
	Last  int       // end of the last member
}
