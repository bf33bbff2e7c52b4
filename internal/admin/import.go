package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/imports"
	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/people"
	"weir/internal/store"
)

// Foreign opens the PostgreSQL database of another program and calls do with its rows.
func Foreign(ctx context.Context, target llm.Secret, do func(imports.Rows) error) error {
	f, err := store.OpenForeign(ctx, target)
	if err != nil {
		return err
	}
	return errors.Join(do(f.Rows), f.Close())
}

// Imports imports the data of other gateways.
type Imports struct {
	configuration *Configuration
	people        *people.Directory
	store         *store.DB
	file          string // of the configuration
}

// ImportOptions holds the options of Import.
type ImportOptions struct {
	DryRun bool // only return the changes
	Invite bool // invite the people of the plan
}

// Imported reports the changes of an import, made or planned.
type Imported struct {
	Config      []managed.Change
	Changes     []imports.Change
	Invitations []ImportedInvitation
	Left        []imports.Left
}

// ImportedInvitation holds an invitation of an import.
type ImportedInvitation struct {
	Email   string      `json:"email"`
	Account string      `json:"account"`
	Role    people.Role `json:"role"`
	Link    string      `json:"link,omitempty"` // empty in a dry run
}

// Import imports the data of another gateway: first the managed configuration, then each account with its keys.
// Existing objects stay unchanged. After an error, another call continues where it stopped.
func (i *Imports) Import(ctx context.Context, by audit.Actor, plan *imports.Plan, o ImportOptions) (
	all Imported, err error,
) {
	all.Left = plan.Left
	doc, err := i.importable(plan, &all)
	if err != nil {
		return all, err
	}
	r, err := i.configuration.apply(ctx, by, doc, &managed.Edit{DryRun: o.DryRun})
	if err != nil {
		return all, err
	}
	all.Config = r.Changes
	places := map[string]imports.Done{}
	for n := range plan.Accounts {
		one, err := i.store.Accounts.Import(ctx, by, &plan.Accounts[n], o.DryRun)
		all.Changes = append(all.Changes, one.Changes...)
		if err != nil {
			return all, err
		}
		places[plan.Accounts[n].From] = one
	}
	return all, i.importPeople(ctx, by, plan.People, places, &all, o)
}

// importPeople invites the people who are not members yet, if invitations are wanted.
func (i *Imports) importPeople(ctx context.Context, by audit.Actor, list []imports.Person,
	places map[string]imports.Done, all *Imported, o ImportOptions,
) error {
	for n := range list {
		p, place := &list[n], places[list[n].Account]
		there, err := i.isExpected(ctx, place.ID, p.Email)
		switch {
		case err != nil:
			return err
		case there:
			continue
		case !o.Invite:
			all.Left = append(all.Left, imports.Left{
				From: p.From,
				Why:  fmt.Sprintf("%s is not invited to the account %s without --invite", p.Email, place.Name),
			})
			continue
		}
		invited := ImportedInvitation{Email: p.Email, Account: place.Name, Role: p.Role}
		if !o.DryRun {
			one, err := i.people.Invite(ctx, by, people.Invitation{
				Email: p.Email, AccountID: place.ID, Role: p.Role,
			}, "")
			if err != nil {
				return fmt.Errorf("%s: %w", p.From, err)
			}
			invited.Link = one.Link.Reveal()
		}
		all.Invitations = append(all.Invitations, invited)
	}
	return nil
}

// isExpected reports whether a person is a member of an account, or invited to it.
func (i *Imports) isExpected(ctx context.Context, account, email string) (bool, error) {
	members, err := i.people.Members(ctx, account)
	if err != nil {
		return false, err
	}
	invited, err := i.people.Invitations(ctx, account)
	return slices.ContainsFunc(members, func(m people.Membership) bool { return strings.EqualFold(m.Email, email) }) ||
		slices.ContainsFunc(invited, func(v people.Invitation) bool { return strings.EqualFold(v.Email, email) }), err
}

// importable returns the configuration of a plan, without the objects that the configuration file has.
func (i *Imports) importable(plan *imports.Plan, all *Imported) (config.Document, error) {
	file, err := config.FileDocument(i.configuration.files)
	if err != nil {
		return nil, err
	}
	doc := config.Document{}
	for section, objects := range plan.Config {
		doc[section] = map[string]any{}
		for name, value := range objects {
			if file.Has(section, name) {
				all.Left = append(all.Left, imports.Left{
					From: section + "." + name, Why: fmt.Sprintf("%s already defines it", i.file),
				})
				continue
			}
			doc[section][name] = value
		}
	}
	slices.SortStableFunc(all.Left, func(a, b imports.Left) int { return strings.Compare(a.From, b.From) })
	return doc, nil
}
