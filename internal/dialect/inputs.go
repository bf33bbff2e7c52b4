package dialect

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Inputs lists the inputs of chat requests in a wire format that have no field in the tree and are sent to a provider
// unchanged. An input that is not listed may carry tokens that the body does not show. Names are in lower case and
// without underscores, except in Plain.
type Inputs struct {
	// Plain are the top-level fields of a request with only texts. Their values have no input other than text: none
	// is an array or an object, except the messages and the stream's options. Empty if a request must be decoded to
	// find out.
	Plain rawjson.Names
	// Shown are the top-level fields whose input is only their own bytes and that cause no work at the provider.
	Shown rawjson.Names
	// ShownParts are types of parts and items that the body shows completely, although the tree has no fields for
	// them; ShownMembers are the members that identify such parts without a type, in lower case and without
	// underscores.
	ShownParts, ShownMembers rawjson.Names
	// Windows maps pieces of values of a header in Passed, or of the corresponding field, to the context windows that
	// they request, in tokens.
	Windows map[string]int64
	// Tools are the tools that providers run themselves. For an unlisted tool, neither the price nor its usage in
	// replies is known.
	Tools []Tool
	// Told are the fields that make a provider run tools and whose runs replies report.
	Told rawjson.Names
	// Upload is the type of a part that puts a file into the container of a provider's tool, which is then charged
	// even if the tool does not run; empty for none.
	Upload string
	// Functions are the types of tools that are functions of the client; the empty one is a tool without a type.
	Functions rawjson.Names
	// ClientTools are prefixes, in lower case, of types of tools that the vendor defines and the client runs, and of
	// named lists of functions.
	ClientTools []string
	// MaxUses is the member of a provider's tool that caps its runs for one request; empty if the provider ignores
	// such a member.
	MaxUses string
	// MaxCalls are the top-level fields that cap a provider's calls of its own tools.
	MaxCalls rawjson.Names
	// Closed are prefixes of the names of models that run only on their vendor's servers and have unpublished
	// templates.
	Closed []string
}

// Tool describes a tool that a provider runs itself.
type Tool struct {
	// Prefix is the beginning of its kind, in lower case. A kind is a type, followed by a colon and the type of the
	// environment, if any; or the name of a member of a tool without a type, followed by a colon and the name of
	// Bedrock's system tool.
	Prefix string
	// Class is the class of its runs; a class of tokens if a run has no fee.
	Class llm.Class
	// Capped says that MaxUses caps its runs.
	Capped bool
	// Untold says that a reply without a count of it does not mean that it did not run.
	Untold bool
	// Free says that its results are not charged as input, so that each run costs only its fee. No field caps its
	// runs.
	Free bool
}
