package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/app"
	"weir/internal/config"
	"weir/internal/llm"
)

func newBackup(env *environment) *cobra.Command {
	var withKey bool
	cmd := &cobra.Command{
		Use: "backup FILE|DIR", Short: "Back up this installation to a file, beside a running gateway",
		Long: "Back up the SQLite database and the journal of this installation to FILE, or to a file in DIR that\n" +
			"is named by the time. A gateway may run meanwhile. The configuration is not in the backup.\n" +
			"Secrets in the database, such as those of webhooks, are sealed. Without the key, which\n" +
			"--with-secrets-key puts into the backup, they cannot be read after a restore: keep the key elsewhere,\n" +
			"or keep the backup as safe as the key.",
		Example: "  weir backup /backup/weir.backup\n  weir backup /backup --with-secrets-key",
		Args:    oneArg("a file or a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return backUp(cmd, env, args[0], withKey)
		},
	}
	cmd.Flags().BoolVar(&withKey, "with-secrets-key", false, "put the key into the backup that secrets are sealed with")
	cmd.AddCommand(newBackupCheck(env))
	return cmd
}

func backUp(cmd *cobra.Command, env *environment, to string, withKey bool) error {
	cfg, err := env.loadConfig("")
	if err != nil {
		return err
	}
	copied, packed := newProgress(env.stderr, "pages copied"), newProgress(env.stderr, "bytes packed")
	done, err := app.Backup(cmd.Context(), cfg, app.BackupOptions{
		To: to, SecretsKey: withKey, Version: version(), Now: time.Now, Copied: copied.show, Packed: packed.show,
		Log: env.logger(&cfg),
	})
	copied.done()
	packed.done()
	if err != nil {
		return err
	}
	if done.Sealed > 0 {
		fmt.Fprintf(env.stderr, "%d secrets in the backup are sealed, and the key is not in it: keep a copy of the key\n",
			done.Sealed)
	}
	_, err = fmt.Fprintf(env.stdout, "%s: %d bytes, %d files, schema %d, as of %s\n", done.Path, done.Size,
		len(done.Manifest.Files), done.Manifest.Schema, done.Manifest.Created.Format(time.RFC3339))
	return err
}

func newBackupCheck(env *environment) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "check FILE|DIR|s3://BUCKET/PREFIX", Short: "Restore a backup into a temporary directory, verify its ledger, and delete it again",
		Long: "Restore a backup into a temporary directory, verify its ledger, and delete it again. The directory\n" +
			"needs as much room as the database.",
		Example: "  weir backup check /backup/weir.backup", Args: oneArg("a backup"),
		RunE: func(cmd *cobra.Command, args []string) error {
			temp, err := os.MkdirTemp(dir, "weir-check-")
			if err != nil {
				return err
			}
			cfg, err := env.loadConfig("")
			if err == nil {
				cfg.Data, cfg.Database = filepath.Join(temp, "data"), llm.Secret{}
				err = restore(cmd, env, cfg, app.RestoreOptions{From: args[0]})
			}
			if rest := os.RemoveAll(temp); rest != nil {
				return fmt.Errorf("delete the restored copy: %w", rest)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "temp", "", "directory for the temporary one (default the system's)")
	return cmd
}

func newRestore(env *environment) *cobra.Command {
	var until restoreUntil
	cmd := &cobra.Command{
		Use: "restore FILE|DIR|s3://BUCKET/PREFIX", Short: "Make a data directory from a backup, and verify its ledger",
		Long: "Make a data directory from a backup, in a directory that is empty or not there, and verify its ledger.\n" +
			"The backup is a file that weir backup made, or the directory or bucket of backup.to in the\n" +
			"configuration: of that, the newest backup of the database is taken, and the journal since then.\n" +
			"Everything else is as it was when the database was backed up: keys that were revoked since then are\n" +
			"valid again. Requests that were under way are settled as unknown, at their upper bound. When a restore\n" +
			"is interrupted, run it again.",
		Example: "  weir restore /backup/weir.backup --data /var/lib/weir\n" +
			"  weir restore s3://backups/weir --until 2026-11-25T12:00:00Z --data /var/lib/weir",
		Args: oneArg("a backup"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := env.loadConfig("")
			if err != nil {
				return err
			}
			return restore(cmd, env, cfg, app.RestoreOptions{From: args[0], Until: until.Time})
		},
	}
	cmd.Flags().Var(&until, "until", "restore the state of this time, of a directory or a bucket")
	return cmd
}

// restoreUntil is a flag for a time of RFC 3339.
type restoreUntil struct{ time.Time }

// Set reads it.
func (u *restoreUntil) Set(text string) (err error) {
	if u.Time, err = time.Parse(time.RFC3339, text); err != nil {
		return errors.New("it is no time such as 2026-11-25T12:00:00Z")
	}
	return nil
}

// String is empty for no time.
func (u *restoreUntil) String() string {
	if u.IsZero() {
		return ""
	}
	return u.Format(time.RFC3339)
}

// Type is the word for it in the help.
func (u *restoreUntil) Type() string { return "time" }

// restore restores into the data directory, and is an error, too, where the ledger has differences.
func restore(cmd *cobra.Command, env *environment, cfg config.Config, o app.RestoreOptions) error {
	unpacked, verified := newProgress(env.stderr, "bytes unpacked"), newProgress(env.stderr, "rows verified")
	o.Unpacked, o.Verified, o.By, o.Log = unpacked.show, verified.show, actor(), env.logger(&cfg)
	done, err := app.Restore(cmd.Context(), cfg, o)
	unpacked.done()
	verified.done()
	if err != nil {
		return err
	}
	v := &done.Verification
	for i := range v.Differences {
		fmt.Fprintln(env.stdout, differenceLine(&v.Differences[i]))
	}
	_, err = fmt.Fprintf(env.stdout, "restored as of %s: %d rows (%d unknown), %d sums: %d differences\n",
		done.AsOf.Format(time.RFC3339), v.Rows, v.Unknown, v.Rollups, len(v.Differences))
	if err == nil && len(v.Differences) > 0 {
		return errQuiet
	}
	return err
}
