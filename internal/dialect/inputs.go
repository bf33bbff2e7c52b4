package dialect

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Inputs are what a request for chat may have in the words of its wire format, that the tree
// does not model and that goes to a provider as it came. Who is not on these lists may
// carry input that the body does not show. Names are without their underscores and in
// lower case, but in Plain.
type Inputs struct {
	// Plain are the top-level fields of a request of texts alone. A value of theirs
	// holds no input but text: it is none of an array or an object, but for the messages
	// and the stream's options. Empty where a request has to be decoded to know.
	Plain rawjson.Names
	// Shown are the top-level fields that add nothing to the input beyond their own
	// bytes, and have the provider do nothing.
	Shown rawjson.Names
	// ShownParts are the types of parts and items that are told in full, though the tree
	// does not model them; and the members, without underscores and in lower case, of such
	// parts that have no type.
	ShownParts, ShownMembers rawjson.Names
	// Windows are the context windows, in tokens, that a client asks for in a header of
	// Passed, or in a field that stands for it, by a piece of its value.
	Windows map[string]int64
	// Tools are the tools that providers run themselves. Of one that is not here nobody knows
	// what it costs, nor whether a reply tells of it.
	Tools []Tool
	// Told are the fields that have a provider run tools of which replies tell how often
	// they ran.
	Told rawjson.Names
	// Upload is the type of a part that puts a file into the container of a tool of the
	// provider's, which is then charged for whether the tool runs or not; empty for none.
	Upload string
	// Functions are the kinds of the tools that are functions of the client's; the empty
	// one is that of a tool without a type.
	Functions rawjson.Names
	// ClientTools are how the kinds begin of tools that the vendor describes and the
	// client runs, and of named lists of functions, in lower case.
	ClientTools []string
	// MaxUses is the member of a tool of the provider's that caps how often it is used
	// for one request; empty where what is there is passed over.
	MaxUses string
	// MaxCalls are the top-level fields that say how many calls of its own tools a
	// provider makes at most.
	MaxCalls rawjson.Names
	// Closed are how the names of models begin that only their vendor's servers run, whose templates are unpublished.
	Closed []string
}

// Tool is a tool that a provider runs itself.
type Tool struct {
	// Prefix is how its kind begins, in lower case. A kind is a type, with a colon and the
	// type of the environment behind it where there is one; or the name of a member of a
	// tool without a type, with a colon and the name of Bedrock's system tool.
	Prefix string
	// Class is what a call of it is counted as; a class of tokens where a call has no fee.
	Class llm.Class
	// Capped is whether MaxUses caps its calls.
	Capped bool
	// Untold is whether a reply without a count of it says nothing of how often it ran.
	Untold bool
	// Free is whether what it finds is not charged for as input, so that each call costs its fee
	// alone. No field caps its calls.
	Free bool
}
