package main

import (
	"context"
	"errors"
)

func newcomerCommand(context.Context, []string) error { return errors.New("not there yet") }
