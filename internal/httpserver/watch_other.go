//go:build !linux

package httpserver

import (
	"context"
	"log/slog"
)

// watch notices nothing: clients that disconnect are noticed at the next write.
type watch struct{}

type watched struct{}

func newWatch(*slog.Logger) *watch                   { return &watch{} }
func (w *watch) run()                                {}
func (w *watch) add(*connection, context.CancelFunc) {}
func (w *watch) remove(*connection)                  {}
func (w *watch) close()                              {}
