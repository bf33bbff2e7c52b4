package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/reconcile"
)

// billOptions holds the flags of a comparison with a billing file.
type billOptions struct {
	files    []string
	services []string
	from, to string // days; empty for all days of the file
	all      bool
}

// billedDay holds a day as JSON shows it.
type billedDay struct {
	Date      string            `json:"date"`
	Through   string            `json:"through,omitempty"` // the last day of a period of several days
	OursUSD   string            `json:"ours_usd"`
	AtMostUSD string            `json:"ours_at_most_usd"`
	TheirsUSD string            `json:"theirs_usd"`
	Finding   reconcile.Finding `json:"finding"`
	Explained bool              `json:"explained"`
}

// days formats the day, or the first and the last day of the period.
func (v *billedDay) days() string {
	if v.Through == "" {
		return v.Date
	}
	return v.Date + " to " + v.Through
}

func (env *environment) reconcileBill(cmd *cobra.Command, o admin.ReconcileOptions, bill billOptions) error {
	b := reconcile.Bill{Costs: map[string]llm.Money{}, Periods: map[reconcile.Period]llm.Money{}}
	for _, file := range bill.files {
		one, err := bill.read(file, os.Stdin)
		if err == nil {
			err = b.Add(&one)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if len(b.Services) == 0 {
		return errors.New("the files of --file have no rows")
	}
	if len(bill.services) == 0 && env.asJSON {
		return usageError{fmt.Errorf("name the services of %s with --service; the files contain %s",
			o.Provider, quotedList(b.Services))}
	}
	if len(bill.services) == 0 {
		lines := []string{"Name the services of " + o.Provider + " with --service. The files contain:"}
		for _, name := range b.Services {
			lines = append(lines, strconv.Quote(name))
		}
		if err := env.printLines(lines); err != nil {
			return err
		}
		return usageError{errors.New("no service is named with --service")}
	}
	first, last := b.Days()
	if first == "" {
		return fmt.Errorf("the files have no usage of the named services (%s): name the services of %s with "+
			"--service; the files contain %s",
			quotedList(bill.services), o.Provider, quotedList(b.Services))
	}
	var err error
	if o.From, err = dayOr(cmp.Or(bill.from, first), time.Time{}); err == nil {
		o.To, err = dayOr(cmp.Or(bill.to, last), time.Time{})
	}
	if err != nil {
		return err
	}
	return env.withData(cmd, func(d *admin.Admin) error {
		list, err := d.Reconciliation.CompareBill(cmd.Context(), o, &b)
		if err != nil {
			return err
		}
		return env.printBilled(list, &b, bill.all)
	})
}

// read reads one billing file, or standard input for "-".
func (o *billOptions) read(file string, stdin io.Reader) (b reconcile.Bill, err error) {
	in := stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return b, err
		}
		defer f.Close() //nolint:errcheck // it was only read
		in = f
	}
	return reconcile.ReadBill(in, o.services)
}

func (o *output) printBilled(days []reconcile.Day, b *reconcile.Bill, all bool) error {
	views, open := []billedDay{}, 0
	for i := range days {
		d := &days[i]
		if !d.Finding.Explained() {
			open++
		}
		if all || o.asJSON || d.Finding != reconcile.Agrees {
			views = append(views, billedDay{
				d.Day, d.Through, d.Ours.String(), (d.Ours + d.Uncertain).String(), d.Theirs.String(), d.Finding,
				d.Finding.Explained(),
			})
		}
	}
	heads := []string{"DATE", "LEDGER COST", "AT MOST", "PROVIDER COST", "FINDING"}
	err := list(o, views, heads, func(v *billedDay) []string {
		return []string{v.days(), "$" + v.OursUSD, "$" + v.AtMostUSD, "$" + v.TheirsUSD, string(v.Finding)}
	})
	if err != nil {
		return err
	}
	if open > 0 {
		return fmt.Errorf("%d of %d days have an unexplained difference", open, len(days))
	}
	if o.asJSON {
		return nil
	}
	lines := []string{"All days agree, or their differences are explained. Days: " + count(int64(len(days)))}
	if b.Other != 0 {
		lines = append(lines, "The files also charge $"+b.Other.String()+" for these services that is not usage, "+
			"such as taxes and credits.")
	}
	return o.printLines(lines)
}

// quotedList quotes the first names of a list.
func quotedList(names []string) string {
	const most = 50
	var list []string
	for _, name := range names[:min(len(names), most)] {
		list = append(list, fmt.Sprintf("%.100q", name))
	}
	if more := len(names) - most; more > 0 {
		list = append(list, "and "+strconv.Itoa(more)+" more")
	}
	return strings.Join(list, ", ")
}
