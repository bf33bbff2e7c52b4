package llm

// Misfit describes how a request exceeds a model. It is set only if programs recognise the vendor's message for it
// and react: they shorten the conversation, request less output, or omit thinking that another model signed.
type Misfit struct {
	Kind MisfitKind
	// Input and Output are the tokens of the request, Limit the most that the model accepts; for an image, in bytes.
	// 0 is unknown. If only the sum is known, Input holds it.
	Input, Output, Limit int64
}

// MisfitKind is the kind of a Misfit; its zero value means none.
type MisfitKind int

// The kinds that programs react to.
const (
	ContextOverflow   MisfitKind = iota + 1 // input and requested output exceed the context window
	OutputTooLong                           // the requested output exceeds the model's limit
	ImageTooLarge                           // in bytes or in pixels
	ThinkingSignature                       // thinking in the conversation has a signature that the model rejects
)
