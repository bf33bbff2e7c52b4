// Package hostiletest attacks the real gateway: hostile clients, hostile providers, hostile requests, each with four
// hostile clients and four good ones. The good ones must not notice, the gateway must stay within its memory, and it
// must release everything after the attack.
//
// The gateway and the good provider (the simulator) are processes of their own on loopback; everything hostile runs in
// the test. It is paced if sending as fast as possible would use the whole machine: the gateway is measured, which
// shares two cores with the test.
//
//	go test ./internal/hostiletest -v -hostile.long -hostile.strict -hostile.time=1s
//
// Without -hostile.long the attacks are short and small. The delays of the good clients' answers and of the release of
// memory are printed, and judged only with -hostile.strict, on an idle machine. -hostile.binary attacks another build
// of weir.
package hostiletest
