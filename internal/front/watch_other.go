//go:build !linux

package front

import (
	"context"
	"log/slog"
)

// watch notices no clients that leave: they are noticed when they are written to.
type watch struct{}

type watched struct{}

func newWatch(*slog.Logger) *watch                   { return &watch{} }
func (w *watch) run()                                {}
func (w *watch) add(*connection, context.CancelFunc) {}
func (w *watch) remove(*connection)                  {}
func (w *watch) close()                              {}
