// Package loadtest sends the real gateway three times the load that it can serve, and measures the result: the served
// requests, the time of a refusal, the order of refusals by priority, the gateway's own endpoints, and the recovery.
//
// The gateway, the provider and the load are processes of their own on loopback; the last two are those of the
// benchmark. The load is an open loop: requests are sent at the times of a Poisson process, independently of the
// answers.
//
//	go test ./internal/loadtest -v -load.seconds=60 -load.strict
//
// Results that depend on the clock are judged only with -load.strict, on an idle machine; up to three times, because no
// machine is quite idle. The others always count: every refusal has a time for the next try, nothing else fails, batch
// requests are refused before others, and the ledger's books agree.
package loadtest
