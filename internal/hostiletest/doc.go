// Package hostiletest attacks the real gateway: hostile clients, hostile providers, hostile
// requests, each with four hostile clients beside four good ones. The good ones must not
// notice, the gateway must stay within its memory, and when the attack is over it must be
// back where it was.
//
// The gateway and the good provider (the simulator) are processes of their own on loopback;
// everything hostile runs in the test. It is paced where sending alone would take the whole
// machine: what is measured is the gateway, which has two cores in common with the test.
//
//	go test ./internal/hostiletest -v -hostile.long -hostile.strict -hostile.time=1s
//
// Without -hostile.long the attacks are short and small. How late the good clients' answers are
// and how soon memory is back is printed, and judged with -hostile.strict alone, on a machine
// that does nothing else. -hostile.binary attacks another build of weir.
package hostiletest
