//go:build !linux

package main

// returnFilePages does nothing: other systems reclaim the pages of files by themselves.
func returnFilePages() {}
