package quote

import (
	"bytes"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// SeparateFees returns the number of charges of a chat that are separate from tokens, by fees that neither the price
// nor a reply shows: for documents that the provider converts to text because its model is not known to accept them,
// and for sound without a price per second. A request that cannot be decoded counts as one.
func (q *Quote) SeparateFees() int64 {
	if !q.feesCounted {
		q.fees, q.feesCounted = q.countFees(), true
	}
	return q.fees
}

func (q *Quote) countFees() (n int64) {
	if q.Op.Op != llm.OpChat || !q.Quirks.ParsesDocuments && !q.Quirks.SoundApart || q.hasNoMedia() {
		return 0
	}
	sound := q.Price.Rates[llm.AudioIn]
	kinds := map[llm.PartKind]bool{
		llm.PartDocument: q.Quirks.ParsesDocuments && !q.table.TakesDocuments(q.Target),
		// A rate equal to that of text is only a default.
		llm.PartAudio: q.Quirks.SoundApart && !q.chargesBySecond() &&
			(!sound.Known() || sound == q.Price.Rates[llm.Input]),
	}
	if !kinds[llm.PartDocument] && !kinds[llm.PartAudio] {
		return 0
	}
	tree, err := q.Tree()
	if err != nil {
		return 1
	}
	for i := range tree.Messages {
		n += separateFees(tree.Messages[i].Parts, kinds)
	}
	return n
}

// hasNoMedia reports, without decoding, whether a body that is sent unchanged has no file and no sound.
func (q *Quote) hasNoMedia() bool {
	if q.Spoken != q.Op {
		return false
	}
	for _, word := range []string{"file", "audio", `\u`} {
		if bytes.Contains(q.Body, []byte(word)) {
			return false
		}
	}
	return true
}

func separateFees(parts []llm.Part, kinds map[llm.PartKind]bool) (n int64) {
	for i := range parts {
		p := &parts[i]
		switch {
		case kinds[p.Kind], p.Kind == llm.PartOther && kinds[llm.PartDocument] &&
			rawjson.Present(rawjson.Get(p.Raw, "file")):
			n++
		case p.Result != nil:
			n += separateFees(p.Result.Parts, kinds)
		}
	}
	return n
}
