package rawjson

// Verdict decides about a member.
type Verdict int

// These are the verdicts: look into the value, look into it and mark everything in it as deep, keep it unchanged, drop
// the member.
const (
	Look Verdict = iota
	Deep
	Pass
	Drop
)

// Drops returns the edits that drop members of the objects anywhere in v, each with one of its commas. V must be valid
// JSON, and is read once. A member is deep if judge has returned Deep for an enclosing member.
func Drops(v []byte, judge func(name []byte, deep bool) Verdict) []Edit {
	d := dropper{b: v, judge: judge}
	d.value(0, false)
	return d.edits
}

type dropper struct {
	b     []byte
	judge func(name []byte, deep bool) Verdict
	edits []Edit
}

// value reads the value at or after i, and returns its end.
func (d *dropper) value(i int, deep bool) int {
	i = skipSpace(d.b, i)
	if i >= len(d.b) {
		return i
	}
	switch d.b[i] {
	case '{':
		return d.object(i, deep)
	case '[':
		return d.array(i, deep)
	}
	return skipValue(d.b, i)
}

func (d *dropper) array(i int, deep bool) int {
	for i++; i < len(d.b); i++ {
		if i = skipSpace(d.b, i); i < len(d.b) && d.b[i] == ']' {
			break
		}
		if i = skipSpace(d.b, d.value(i, deep)); i >= len(d.b) || d.b[i] != ',' {
			break
		}
	}
	return min(i+1, len(d.b))
}

func (d *dropper) object(i int, deep bool) int {
	b, kept, from := d.b, false, i+1 // from is after the brace or the previous member
	for i++; ; i++ {
		i = skipSpace(b, i)
		if i >= len(b) || b[i] != '"' {
			break
		}
		end := skipString(b, i)
		m := Member{name: b[i+1 : max(i+1, end-1)]}
		i = skipSpace(b, min(skipSpace(b, end)+1, len(b))) // after the colon
		switch verdict := d.judge(m.Key(), deep); verdict {
		case Drop:
			end = skipValue(b, i)
			if next := skipSpace(b, end); !kept && next < len(b) && b[next] == ',' {
				end = next + 1
			}
			d.edits = append(d.edits, Edit{Start: from, End: end})
			if i = end - 1; b[i] != ',' || kept {
				i = skipSpace(b, end)
			}
			from = end
		case Pass:
			end, kept = skipValue(b, i), true
			from, i = end, skipSpace(b, end)
		default:
			end, kept = d.value(i, deep || verdict == Deep), true
			from, i = end, skipSpace(b, end)
		}
		if i >= len(b) || b[i] != ',' {
			break
		}
	}
	return min(i+1, len(b))
}
