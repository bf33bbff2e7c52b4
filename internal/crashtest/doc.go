// Package crashtest kills the real gateway under load, again and again, and
// then joins its ledger with the provider's own, attempt by attempt.
//
// The provider is the simulator, a process of its own that outlives every
// kill. Its ledger says what was truly served; the gateway's says what was
// metered; the clients say what they were told. Nothing may be lost, nothing
// doubled, and every attempt of unknown outcome must have been open when the
// process was killed.
//
//	go test ./internal/crashtest -run TestCrash -v -crash.kills=12
//
// Half of the kills come at random moments, some of them while the gateway
// starts; the other half at named points of the journal and the projector,
// which only a build with the tag "faultpoints" has. A second test switches
// part of the journal off, and fails unless the first one's questions find
// that out.
//
// A third loads one life for long, with slow readers and a provider that starts
// again now and then, and asks the same questions, and whether memory,
// descriptors and goroutines stay as they were:
//
//	go test ./internal/crashtest -run TestSoak -v -timeout 1h -soak.time=30m
//
// The rest is about several gateways over one PostgreSQL and one Valkey: races
// for a budget that affords few requests, with kills and with a database that
// forgets; PostgreSQL stopped, failed over and cut off in the middle of commits
// under load; a limit that all share, Valkey killed, frozen and emptied; and
// changes that each has to know within a second.
//
//	go test ./internal/crashtest -run TestNodes -v -timeout 40m -nodes.long
package crashtest
