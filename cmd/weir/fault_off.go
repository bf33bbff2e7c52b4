//go:build !faultpoints

package main

import "weir/internal/ledger"

// faults is nil: only builds for the crash harness break on command.
func faults() func(*ledger.Options) { return nil }
