package llm

// Needs lists the abilities that a request requires of a model.
type Needs struct {
	Images, Documents, Audio, Tools, Structured bool

	Text      int64 // bytes of text
	MaxOutput int64 // tokens of output requested; 0 for unknown
}
