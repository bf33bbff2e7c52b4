//go:build !linux

package main

import "testing"

// runImage needs Linux.
func runImage(*testing.T, *made, string, imageFile) {}
