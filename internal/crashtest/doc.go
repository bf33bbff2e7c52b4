// Package crashtest kills the real gateway under load, again and again, and then joins its ledger with the provider's
// own, attempt by attempt.
//
// The provider is the simulator, a process of its own that survives every kill. Its ledger has the true usage, the
// gateway's has the metered usage, and the clients have the reported usage. Nothing may be lost or doubled, and every
// attempt of unknown outcome must have been open when the process was killed.
//
//	go test ./internal/crashtest -run TestCrash -v -crash.kills=12
//
// Half of the kills are at random times, some of them while the gateway starts; the other half at named points of the
// journal and the projector, which only a build with the tag "faultpoints" has. A second test disables a part of the
// journal, and fails unless the checks of the first one find that.
//
// A third one runs one life under load for long, with slow readers and a provider that restarts now and then. It makes
// the same checks, and compares memory, descriptors and goroutines with those at the beginning:
//
//	go test ./internal/crashtest -run TestSoak -v -timeout 1h -soak.time=30m
//
// The rest tests several gateways over one PostgreSQL and one Valkey: races for a budget that covers few requests, with
// kills and with a database that loses rows, also over WebSockets (-sockets.races=80); PostgreSQL stopped, failed over and cut off in the middle of commits under
// load; a limit that all share, Valkey killed, frozen and emptied; and changes that each node has to know within a
// second.
//
//	go test ./internal/crashtest -run TestNodes -v -timeout 40m -nodes.long
package crashtest
