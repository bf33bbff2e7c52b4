package dialect

import "weir/internal/llm"

// Live describes the sessions of a client API by WebSocket in which the provider begins answers by itself.
type Live struct {
	Routes []string // as in Operation
	// Target is the path of a provider's sessions, with {version} for the end of the base URL, which it replaces.
	Target string
	// Read reads a message of the client. It refuses messages that two parsers may read differently, and those that may
	// begin something whose cost has no bound. Errors are *llm.Error.
	Read func(frame []byte) (LiveMessage, error)
	// Setup returns a client's first message for a provider: with the provider's name of the model and, unless it is 0,
	// an output cap for each answer in tokens.
	Setup func(m *LiveMessage, model string, limit int64) []byte
	// Event reads a message of the provider.
	Event func(frame []byte) LiveEvent
	// Usage reads a report of usage. Most is an upper bound in the classes that the report leaves open. It reports
	// false if the report is not valid.
	Usage func(v []byte) (used, most llm.Usage, ok bool)
	// Tokens bounds the tokens of a second of sound.
	Tokens int64
}

// LiveMessage holds the properties of a client's message in a live session that decide its cost.
type LiveMessage struct {
	Setup     *LiveSetup // of the first message; nil for others
	Body      []byte     // the content, of which each byte is at most a token unless it is sound
	Asks      bool       // the model answers it at once, without detection of a turn
	Listens   bool       // it has sound or pictures, in which the provider may detect turns
	Millis    int64      // of sound
	Words     int64      // bytes of text beside the sound
	Unbounded bool       // it has content whose tokens its bytes do not bound
}

// LiveSetup holds the settings of a live session.
type LiveSetup struct {
	Model   string
	Cap     int64 // output tokens of an answer; 0 for none
	Detects bool  // the provider detects turns
	Resumes bool  // it continues an earlier session, whose conversation is not known
	Silence int64 // milliseconds at the end of a detected turn; 0 if it is not set
	// Parallel reports whether the model may go on while a function runs that it has called.
	Parallel bool
}

// LiveEvent is the content of a provider's message in a live session.
type LiveEvent struct {
	Ready       bool   // the setup is complete
	Begun       bool   // the answer has begun
	Calls       bool   // the answer waits for the results of functions
	Interrupted bool   // the person has interrupted the answer
	Complete    bool   // the answer has ended
	Usage       []byte // the report of usage; nil for none
	Text, Sound int64  // bytes of the answer's text, and of its sound in base64
}
