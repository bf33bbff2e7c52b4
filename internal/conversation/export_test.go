package conversation

import "time"

// FormerRecord returns a response without a predecessor as versions before 2026-12 stored it, for an hour.
func FormerRecord(o Owner, id, response string, now time.Time) (*Record, error) {
	name := o.formerName(id)
	c := content{response: []byte(response)}
	b, err := box(&o, name)
	if err != nil {
		return nil, err
	}
	return &Record{
		Account: o.Account, Scope: o.Scope, ID: name, Created: now, Expires: now.Add(time.Hour),
		Sealed: b.Seal(nil, nil, c.encode(), []byte(name)),
	}, nil
}
