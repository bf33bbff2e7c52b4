package admin

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"

	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/route"
	"weir/internal/upstream"
)

// seen returns the version in force, or managed.ErrChanged if it is not the one that the caller has seen.
func (c *Configuration) seen(ctx context.Context, after *int64) (doc config.Document, seq int64, err error) {
	doc, seq, err = c.parsed(ctx, 0)
	if err == nil && after != nil && *after != seq {
		err = managed.ErrChanged
	}
	return doc, seq, err
}

// apply makes a change.
func (c *Configuration) apply(ctx context.Context, by audit.Actor, change config.Document, e *managed.Edit) (
	r managed.Result, err error,
) {
	before, after, seq, err := c.changed(ctx, change, e)
	if err != nil {
		return r, err
	}
	return c.change(ctx, by, seq, before, after, e.DryRun)
}

// changed returns the managed configuration before and after a change, and the version before.
func (c *Configuration) changed(ctx context.Context, change config.Document, e *managed.Edit) (
	before, after config.Document, seq int64, err error,
) {
	if before, seq, err = c.seen(ctx, e.After); err != nil {
		return nil, nil, 0, err
	}
	file, err := config.FileDocument(c.files)
	if err != nil {
		return nil, nil, 0, err
	}
	if change, err = change.Revealed(before, file.Document); err != nil {
		return nil, nil, 0, mistake{err}
	}
	if change, err = file.Without(change); err != nil {
		return nil, nil, 0, err
	}
	if after, err = file.Remove(before, e.Remove); err != nil {
		return nil, nil, 0, err
	}
	return before, after.With(change, e.Prune), seq, nil
}

// planned returns the managed configuration before and after a change that may also replace objects of the file, and
// the files without these.
func (c *Configuration) planned(ctx context.Context, change config.Document, e *managed.Edit) (
	before, after config.Document, files config.Options, err error,
) {
	if before, _, err = c.seen(ctx, e.After); err != nil {
		return nil, nil, files, err
	}
	file, err := config.FileDocument(c.files)
	if err != nil {
		return nil, nil, files, err
	}
	if change, err = change.Revealed(before, file.Document); err != nil {
		return nil, nil, files, mistake{err}
	}
	after, files, err = file.Planned(c.files, before, change, e.Remove, e.Prune)
	return before, after, files, err
}

// restore puts an earlier version in force again.
func (c *Configuration) restore(ctx context.Context, by audit.Actor, seq int64, expected *int64) (
	r managed.Result, err error,
) {
	before, now, err := c.seen(ctx, expected)
	if err != nil {
		return r, err
	}
	after, at, err := c.parsed(ctx, seq)
	if err != nil {
		return r, err
	}
	if at == 0 {
		return r, llm.Errorf(llm.CodeNotFound, "There is no version %d of the managed configuration: weir config "+
			"versions lists the stored ones.", seq)
	}
	return c.change(ctx, by, now, before, after, false)
}

// change replaces a document by another one, if that has no mistakes.
func (c *Configuration) change(ctx context.Context, by audit.Actor, seq int64, before, after config.Document,
	dryRun bool,
) (r managed.Result, err error) {
	if err := c.try(ctx, after, func(*upstream.Builder, *route.Table) error { return nil }); err != nil {
		return r, err
	}
	r = managed.Result{Version: seq, Changes: before.Changes(after)}
	if dryRun || len(r.Changes) == 0 {
		return r, nil
	}
	r.Version++
	return r, c.put(ctx, by, seq, after, r.Changes)
}

// try builds the configuration of a document and the configuration file, and calls do with it. It returns
// config.Problems if the document has mistakes.
func (c *Configuration) try(ctx context.Context, doc config.Document, do func(*upstream.Builder, *route.Table) error,
) error {
	return c.tryWith(ctx, c.files, doc, do)
}

// tryWith is try with other files.
func (c *Configuration) tryWith(ctx context.Context, files config.Options, doc config.Document,
	do func(*upstream.Builder, *route.Table) error,
) error {
	text, err := doc.JSON()
	if err != nil {
		return err
	}
	files.Managed = text
	cfg, err := config.Load(files)
	if err != nil {
		return err
	}
	up := upstream.Options{Config: cfg, Getenv: c.getenv, Log: slog.New(slog.DiscardHandler)}
	var failed error
	err = up.With(ctx, func(b *upstream.Builder, t *route.Table) error {
		failed = do(b, t)
		return nil
	})
	if err != nil {
		return mistake{err}
	}
	return failed
}

// mistake wraps an error that the author of a configuration made.
type mistake struct{ error }

// Unwrap returns the wrapped error.
func (m mistake) Unwrap() error { return m.error }

// State returns the configuration in force.
func (c *Configuration) State(ctx context.Context) (s managed.State, err error) {
	doc, seq, err := c.parsed(ctx, 0)
	if err != nil {
		return s, err
	}
	s = managed.State{Version: seq, InForce: c.inForce.Load(), Problem: c.Problem()}
	if s.Objects, err = config.Objects(c.files, doc); err != nil {
		return s, refusedEdit(err)
	}
	return s, nil
}

// Edit makes a change, which is in force on every node within a second.
func (c *Configuration) Edit(ctx context.Context, by audit.Actor, e managed.Edit) (managed.Result, error) {
	change, err := documentOf(&e)
	if err != nil {
		return managed.Result{}, refusedEdit(err)
	}
	r, err := c.apply(ctx, by, change, &e)
	return r, refusedEdit(err)
}

// documentOf returns the document of an edit.
func documentOf(e *managed.Edit) (config.Document, error) {
	doc, err := config.ParseDocument(cmp.Or(e.File, "document"), e.Text)
	for _, r := range e.Remove {
		if err == nil {
			err = config.CheckRef(r)
		}
	}
	if err != nil || e.Put == nil {
		return doc, err
	}
	if err := config.CheckRef(*e.Put); err != nil {
		return nil, err
	}
	one, err := config.DocumentOf(*e.Put, "document", e.Value)
	return doc.With(one, false), err
}

// Restore puts an earlier version in force again, as a new one. after has the meaning of managed.Edit.After.
func (c *Configuration) Restore(ctx context.Context, by audit.Actor, seq int64, after *int64) (managed.Result, error) {
	r, err := c.restore(ctx, by, seq, after)
	return r, refusedEdit(err)
}

// Versions returns up to most versions with their changes, newest first: those before a number, or all if it is 0.
func (c *Configuration) Versions(ctx context.Context, before int64, most int) ([]managed.Version, error) {
	// one more, because the oldest is compared with the version before it
	list, err := c.store.Versions(ctx, before, most+1)
	if err != nil || len(list) == 0 {
		return list, err
	}
	doc, _, err := c.parsed(ctx, list[0].Seq)
	for i := range list[:min(len(list), most)] {
		if err != nil {
			return nil, err
		}
		earlier := config.Document{}
		if i+1 < len(list) {
			earlier, _, err = c.parsed(ctx, list[i+1].Seq)
		}
		if err == nil && (i+1 < len(list) || list[i].Seq == 1) {
			list[i].Changes = earlier.Changes(doc)
		}
		doc = earlier
	}
	return list[:min(len(list), most)], err
}

// refusedEdit converts an error of a change to the one that operators see.
func refusedEdit(err error) error {
	if problems, ok := errors.AsType[config.Problems](err); ok {
		lines := make([]string, len(problems))
		for i := range problems {
			lines[i] = problems[i].Error()
		}
		return &llm.Error{
			Code: llm.CodeInvalidRequest, Param: problems[0].Path, Message: ended(strings.Join(lines, "; ")), Err: err,
		}
	}
	if errors.Is(err, managed.ErrChanged) {
		return &llm.Error{
			Code: llm.CodeConflict, Err: err,
			Message: "The configuration was changed meanwhile. Read it again, then repeat the change.",
		}
	}
	if errors.Is(err, managed.ErrUnknown) {
		return &llm.Error{Code: llm.CodeNotFound, Message: sentence(err), Err: err}
	}
	if m, ok := errors.AsType[mistake](err); ok {
		e := &llm.Error{Code: llm.CodeInvalidRequest, Message: sentence(m), Err: err}
		if said, ok := errors.AsType[*llm.Error](err); ok {
			e.Message, e.Param = strings.Replace(e.Message, said.Error(), said.Message, 1), said.Param
		}
		return e
	}
	return err
}

// sentence formats an error as a sentence.
func sentence(err error) string {
	text := err.Error()
	return ended(strings.ToUpper(text[:1]) + text[1:])
}

// ended adds a full stop, unless the text already ends with a full stop or question mark.
func ended(text string) string {
	if strings.HasSuffix(text, "?") || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}
