package dashboard

import (
	"context"

	"weir/internal/admin"
	"weir/internal/plan"
)

// previewRows bounds the keys of a preview.
const previewRows = 20

// preview shows what a change would have done to the requests of the last days.
type preview struct {
	Rows  []previewRow
	Left  int // number of keys that are not shown
	Total previewRow
	Cut   bool
}

// previewRow shows the planned results of a key's requests.
type previewRow struct {
	plan.Row
	AllRefused int64
}

// previewOf replays the last week under a change, without making it.
func previewOf(ctx context.Context, plans *admin.Plans, a plan.Ask) (*preview,
	error,
) {
	r, err := plans.Ask(ctx, a)
	if err != nil {
		return nil, err
	}
	p := &preview{Total: previewRowOf(&r.Total), Cut: r.Cut}
	for i := range r.Rows {
		row := previewRowOf(&r.Rows[i])
		switch {
		case row.AllRefused+row.Elsewhere == 0 && row.Cost == row.Planned:
		case len(p.Rows) == previewRows:
			p.Left++
		default:
			p.Rows = append(p.Rows, row)
		}
	}
	return p, nil
}

func previewRowOf(r *plan.Row) previewRow {
	row := previewRow{Row: *r}
	for _, n := range r.Refused {
		row.AllRefused += n
	}
	return row
}
