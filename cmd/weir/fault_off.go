//go:build !faultpoints

package main

// faultPoint is nil: only builds for the crash harness die on command.
func faultPoint() func(string) { return nil }
