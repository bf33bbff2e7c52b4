package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/route"
)

// seen is the version in force. The error is managed.ErrChanged where it is not the one that somebody has seen.
func (m *managedConfig) seen(ctx context.Context, after *int64) (doc config.Document, seq int64, err error) {
	doc, seq, err = m.parsed(ctx, 0)
	if err == nil && after != nil && *after != seq {
		err = managed.ErrChanged
	}
	return doc, seq, err
}

// apply makes a change.
func (m *managedConfig) apply(ctx context.Context, by audit.Actor, change config.Document, o ApplyOptions) (
	r managed.Result, err error,
) {
	before, after, seq, err := m.changed(ctx, change, &o)
	if err != nil {
		return r, err
	}
	return m.change(ctx, by, seq, before, after, o)
}

// changed is what is managed, at that place, and what it is with a change.
func (m *managedConfig) changed(ctx context.Context, change config.Document, o *ApplyOptions) (
	before, after config.Document, seq int64, err error,
) {
	if before, seq, err = m.seen(ctx, o.After); err != nil {
		return nil, nil, 0, err
	}
	file, err := config.FileDocument(o.File)
	if err != nil {
		return nil, nil, 0, err
	}
	if change, err = change.Revealed(before, file.Document); err != nil {
		return nil, nil, 0, mistake{err}
	}
	if change, err = file.Beside(change); err != nil {
		return nil, nil, 0, err
	}
	if after, err = file.Remove(before, o.Remove); err != nil {
		return nil, nil, 0, err
	}
	return before, after.With(change, o.Prune), seq, nil
}

// restore puts an earlier version in force again.
func (m *managedConfig) restore(ctx context.Context, by audit.Actor, seq int64, o ApplyOptions) (
	r managed.Result, err error,
) {
	before, now, err := m.seen(ctx, o.After)
	if err != nil {
		return r, err
	}
	after, at, err := m.parsed(ctx, seq)
	if err != nil {
		return r, err
	}
	if at == 0 {
		return r, llm.Errorf(llm.CodeNotFound, "There is no version %d of the managed configuration: weir config "+
			"versions lists those that are kept.", seq)
	}
	return m.change(ctx, by, now, before, after, o)
}

// change puts a document in the place of another one, if there are no mistakes in it.
func (m *managedConfig) change(ctx context.Context, by audit.Actor, seq int64, before, after config.Document,
	o ApplyOptions,
) (r managed.Result, err error) {
	if err := tryDocument(ctx, after, o, func(*fleet, *route.Table) error { return nil }); err != nil {
		return r, err
	}
	r = managed.Result{Version: seq, Changes: before.Changes(after)}
	if o.DryRun || len(r.Changes) == 0 {
		return r, nil
	}
	r.Version++
	return r, m.put(ctx, by, seq, after, r.Changes)
}

// tryDocument calls do with what a document asks for beside the configuration file. The error is config.Problems where
// it has mistakes.
func tryDocument(ctx context.Context, doc config.Document, o ApplyOptions, do func(*fleet, *route.Table) error) error {
	text, err := doc.JSON()
	if err != nil {
		return err
	}
	o.File.Managed = text
	cfg, err := config.Load(o.File)
	if err != nil {
		return err
	}
	gateway := Options{Config: cfg, Getenv: o.Getenv, Log: slog.New(slog.DiscardHandler)}
	var failed error
	err = gateway.withTable(ctx, func(f *fleet, t *route.Table) error {
		failed = do(f, t)
		return nil
	})
	if err != nil {
		return mistake{err}
	}
	return failed
}

// mistake is an error of what somebody wrote.
type mistake struct{ error }

// Unwrap is the error itself.
func (m mistake) Unwrap() error { return m.error }

// State is managed.Configuration's.
func (m *managedConfig) State(ctx context.Context) (s managed.State, err error) {
	doc, seq, err := m.parsed(ctx, 0)
	if err != nil {
		return s, err
	}
	s = managed.State{Version: seq, InForce: m.inForce.Load(), Problem: m.problem()}
	if s.Objects, err = config.Objects(m.options.ConfigFrom, doc); err != nil {
		return s, refusedEdit(err)
	}
	return s, nil
}

// Edit is managed.Configuration's.
func (m *managedConfig) Edit(ctx context.Context, by audit.Actor, e managed.Edit) (managed.Result, error) {
	change, err := documentOf(&e)
	if err != nil {
		return managed.Result{}, refusedEdit(err)
	}
	o := m.applyOptions()
	o.Remove, o.Prune, o.DryRun, o.After = e.Remove, e.Prune, e.DryRun, e.After
	r, err := m.apply(ctx, by, change, o)
	return r, refusedEdit(err)
}

// documentOf is the document of an edit.
func documentOf(e *managed.Edit) (config.Document, error) {
	doc, err := config.ParseDocument("document", e.Text)
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

func (m *managedConfig) applyOptions() ApplyOptions {
	return ApplyOptions{File: m.options.ConfigFrom, Getenv: m.options.Getenv}
}

// Restore is managed.Configuration's.
func (m *managedConfig) Restore(ctx context.Context, by audit.Actor, seq int64, after *int64) (managed.Result, error) {
	o := m.applyOptions()
	o.After = after
	r, err := m.restore(ctx, by, seq, o)
	return r, refusedEdit(err)
}

// Versions is managed.Configuration's.
func (m *managedConfig) Versions(ctx context.Context, before int64, most int) ([]managed.Version, error) {
	list, err := m.store.Versions(ctx, before, most+1) // the oldest is compared with the one before it
	if err != nil || len(list) == 0 {
		return list, err
	}
	doc, _, err := m.parsed(ctx, list[0].Seq)
	for i := range list[:min(len(list), most)] {
		if err != nil {
			return nil, err
		}
		earlier := config.Document{}
		if i+1 < len(list) {
			earlier, _, err = m.parsed(ctx, list[i+1].Seq)
		}
		if err == nil && (i+1 < len(list) || list[i].Seq == 1) {
			list[i].Changes = earlier.Changes(doc)
		}
		doc = earlier
	}
	return list[:min(len(list), most)], err
}

// refusedEdit is an error of a change as operators are told it.
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
			Message: "The configuration was changed meanwhile. Get it again, and repeat the change.",
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

// sentence is an error as people read it.
func sentence(err error) string {
	text := err.Error()
	return ended(strings.ToUpper(text[:1]) + text[1:])
}

// ended is a text with a full stop, unless it ends already.
func ended(text string) string {
	if strings.HasSuffix(text, "?") || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}
