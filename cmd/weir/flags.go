package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weir/internal/config"
)

// duration is the value of a flag: a duration of Go, also with days, such as 30d.
type duration time.Duration

// durationFlag defines a flag that takes a duration.
func durationFlag(cmd *cobra.Command, d *time.Duration, name string, otherwise time.Duration, usage string) {
	*d = otherwise
	cmd.Flags().Var((*duration)(d), name, usage)
}

// Set implements pflag.Value.
func (d *duration) Set(text string) error {
	n, ok := config.ParseDuration(text)
	if !ok {
		return errors.New("invalid duration")
	}
	*d = duration(n)
	return nil
}

// String implements pflag.Value. The zero value is no default that help texts show.
func (d *duration) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

// Type implements pflag.Value.
func (*duration) Type() string { return "duration" }

// flagMistake says what is wrong with a flag, and then what to do.
func flagMistake(cmd *cobra.Command, err error) error {
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		want := map[string]string{
			"int": "a whole number", "int64": "a whole number", "uint64": "a whole number of 0 or more",
			"float64": "a number", "bool": "true or false",
			"duration": "a duration such as 90s, 12h or 30d",
		}[e.GetFlag().Value.Type()]
		if want != "" {
			return usageError{fmt.Errorf("--%s needs %s; got %q", e.GetFlag().Name, want, e.GetValue())}
		}
	}
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok && len(e.GetSpecifiedName()) > 1 {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near, ok := config.Nearest(e.GetSpecifiedName(), names); ok {
			return usageError{fmt.Errorf("%w; did you mean --%s?", err, near)}
		}
	}
	return usageError{err}
}

// requireFlags refuses a command without the flags that it needs.
func requireFlags(cmd *cobra.Command) error {
	var missing []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if required := f.Annotations[cobra.BashCompOneRequiredFlag]; len(required) > 0 && !f.Changed {
			missing = append(missing, "--"+f.Name)
		}
	})
	if len(missing) == 0 {
		return nil
	}
	return usageError{fmt.Errorf("%s needs %s", cmd.CommandPath(), strings.Join(missing, " and "))}
}
