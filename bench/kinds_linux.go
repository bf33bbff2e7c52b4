package main

// kind is one measurement that is taken in turns.
type kind struct {
	name, title  string
	clientAPI    string
	model        string
	conns        int
	slice        int  // requests of one turn
	slices       int  // turns in a round
	rate         int  // requests a second, on all connections together; 0 for as many as possible
	vendor       bool // the provider has Anthropic's wire format, in place of OpenAI's
	nginx, rival bool // are measured, too
}

// kinds returns all kinds. A stream has 50 pieces.
func kinds() []kind {
	whole := kind{model: wholeModel, conns: 64, slice: 1000, slices: 8, rival: true}
	fast := kind{model: fastModel, conns: 10, slice: 40, slices: 20, rival: true}
	named := func(k kind, name, title, clientAPI string) kind {
		k.name, k.title, k.clientAPI = name, title, clientAPI
		return k
	}
	beside := func(k kind, nginx, rival, vendor bool) kind {
		k.nginx, k.rival, k.vendor = nginx, rival, vendor
		return k
	}
	const pieces = "Streams of 50 pieces without pause, ten connections; CPU a piece"
	return []kind{
		named(beside(whole, true, true, false), "completions", "Whole completions, passed through", "completions"),
		named(beside(whole, false, false, false), "chat", "Whole replies of /v1/chat, translated", "chat"),
		named(beside(whole, false, false, false), "messages", "Whole replies of /v1/messages, translated", "messages"),
		named(beside(whole, false, true, true), "passed-messages", "The same, passed through", "messages"),
		named(whole, "responses", "Whole replies of /v1/responses, translated, store: false", "responses-unkept"),
		named(whole, "kept", "Whole replies of /v1/responses, translated and kept", "responses"),
		named(beside(fast, true, true, false), "fast-streams", pieces, "completions"),
		named(beside(fast, false, false, false), "translated-streams", "The same at /v1/messages, translated", "messages"),
		named(beside(fast, false, true, true), "vendor-streams", "The same at /v1/messages, passed through", "messages"),
		{ // turns of two seconds, so that most of a turn is not its begin and end
			name: "slow-streams", title: "500 streams of 50 pieces, 10 ms apart; CPU a piece", clientAPI: "completions",
			model: slowModel, conns: 500, slice: 2000, slices: 1, nginx: true, rival: true,
		},
		{
			name: "pace", title: "Latency of whole completions, 200 requests/s", clientAPI: "completions",
			model: wholeModel, conns: 1, slice: 100, slices: 10, rate: 200, nginx: true,
		},
	}
}
