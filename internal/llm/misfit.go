package llm

// Misfit says what of a request a model does not take, where programs know that by their vendor's sentence for it and do
// something about it: they make the conversation shorter, ask for less output, or leave out thinking of somebody else.
type Misfit struct {
	Kind MisfitKind
	// Input and Output are the tokens of the request, Limit those that the model takes; of an image, bytes. 0 is unknown.
	// Where only their sum is known, Input has it.
	Input, Output, Limit int64
}

// MisfitKind is what of a request a model does not take; its zero value is nothing.
type MisfitKind int

// The kinds that programs know.
const (
	ContextOverflow   MisfitKind = iota + 1 // the input, with the output that was asked for, is longer than the context window
	OutputTooLong                           // more output was asked for than the model gives
	ImageTooLarge                           // in bytes or in pixels
	ThinkingSignature                       // of thinking that is sent back
)
