// Package crashtest kills the real gateway under load, again and again, and
// then joins its ledger with the provider's own, attempt by attempt.
//
// The provider is the simulator, a process of its own that outlives every
// kill. Its ledger says what was truly served; the gateway's says what was
// metered; the clients say what they were told. Nothing may be lost, nothing
// doubled, and every attempt of unknown outcome must have been open when the
// process was killed.
//
//	go test ./internal/crashtest -run TestCrash -v -crash.kills=30
//
// Half of the kills come at random moments, some of them while the gateway
// starts; the other half at named points of the journal and the projector,
// which only a build with the tag "faultpoints" has. A second test switches
// part of the journal off, and fails unless the first one's questions find
// that out.
package crashtest
