package main

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"
)

// aliasView holds an alias as listings show it.
type aliasView struct {
	Alias string `json:"alias"`
	Value any    `json:"value"` // as in weir.yaml
	From  string `json:"from"`  // file and line, "managed" or "environment"
}

func newAliases(env *environment) *cobra.Command {
	cmd := env.jsonFlag(&cobra.Command{
		Use: "aliases", Short: "List aliases with their targets and where each is configured",
		Example: "  weir aliases", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, objects, err := env.managedOptions(cmd)
			if err != nil {
				return err
			}
			var views []aliasView
			for i := range objects {
				if o := &objects[i]; o.Section == "aliases" {
					views = append(views, aliasView{o.Name, o.Value, placeOf(objects, o.Section, o.Name)})
				}
			}
			return list(&env.output, views, []string{"ALIAS", "TARGETS", "FROM"}, (*aliasView).row)
		},
	})
	cmd.AddCommand(managedCommands(env, aliasSection())...)
	return cmd
}

func (v *aliasView) row() []string {
	var a struct {
		Targets []string `json:"targets"`
	}
	text, err := json.Marshal(v.Value)
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		return []string{v.Alias, oneLine(v.Value), v.From}
	}
	return []string{v.Alias, strings.Join(a.Targets, ", "), v.From}
}
