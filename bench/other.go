//go:build !linux

package main

import (
	"context"
	"errors"
	"io"
)

var errLinux = errors.New(
	"the benchmark requires Linux: it pins processes to cores and reads their CPU time from /proc")

func runCommand(context.Context, []string, io.Writer, io.Writer) error { return errLinux }

func floodCommand(context.Context, []string, io.Writer, io.Writer) error { return errLinux }

func pagesCommand(context.Context, []string, io.Writer, io.Writer) error { return errLinux }

func turnsCommand(context.Context, []string, io.Writer, io.Writer) error { return errLinux }

func loadCommand(context.Context, []string, io.Writer, io.Writer) error { return errLinux }

func framesCommand(context.Context, []string, io.Writer, io.Writer) error { return errLinux }
