package llm

// Needs are what a request asks of a model.
type Needs struct {
	Images, Documents, Audio, Tools, Structured bool

	Text      int64 // bytes of text
	MaxOutput int64 // tokens that the answer may have; 0 for unknown
}
