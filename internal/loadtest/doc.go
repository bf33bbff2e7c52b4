// Package loadtest gives the real gateway three times the work that it can do,
// and looks at what becomes of it: how much is still done, how quickly the rest
// is refused, who is refused first, whether the gateway answers for itself
// meanwhile, and how soon all is well again.
//
// The gateway, the provider and the load are processes of their own on
// loopback; the last two are those of the benchmark. The load is an open loop:
// requests come at the times of a Poisson process, whatever the answers do.
//
//	go test ./internal/loadtest -v -load.seconds=60 -load.strict
//
// What depends on the clock is judged with -load.strict alone, on a machine that
// does nothing else; up to three times, for there is no such machine. The rest
// always holds: every refusal says when to come again, nothing else fails, batch
// requests are refused before others, and the ledger's books agree.
package loadtest
