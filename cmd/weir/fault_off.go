//go:build !faultpoints

package main

import "weir/internal/ledger"

// faults returns nil: only builds for the crash harness inject faults.
func faults() func(*ledger.Options) { return nil }
