package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/config"
	"weir/internal/llm"
)

func newBackup(env *environment) *cobra.Command {
	var withKey bool
	cmd := &cobra.Command{
		Use: "backup FILE|DIR", Short: "Back up this installation to a file while the gateway runs",
		Long: "Back up the SQLite database and the journal of this installation to FILE, or to a new file in DIR\n" +
			"that is named after the time. The gateway may run meanwhile. The configuration is not in the\n" +
			"backup. Secrets in the database, such as those of webhooks, are sealed. Without their key they\n" +
			"cannot be read after a restore. Either store the key separately (the file secrets.key in the data\n" +
			"directory, or secrets.key of the configuration), or put the file into the backup with\n" +
			"--with-secrets-key and protect the backup like the key.",
		Example: "  weir backup /backup/weir.backup\n  weir backup /backup --with-secrets-key",
		Args:    oneArg("a file or a directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return backUp(cmd, env, args[0], withKey)
		},
	}
	cmd.Flags().BoolVar(&withKey, "with-secrets-key", false, "put the key of the sealed secrets into the backup")
	cmd.AddCommand(newBackupCheck(env))
	return cmd
}

func backUp(cmd *cobra.Command, env *environment, to string, withKey bool) error {
	cfg, err := env.loadConfig("")
	if err != nil {
		return err
	}
	copied, packed := newProgress(env.stderr, "pages copied"), newProgress(env.stderr, "bytes packed")
	done, err := admin.Backup(cmd.Context(), cfg, admin.BackupOptions{
		To: to, SecretsKey: withKey, Version: version(), Now: time.Now, Copied: copied.show, Packed: packed.show,
		Log: env.logger(&cfg),
	})
	copied.done()
	packed.done()
	if err != nil {
		return err
	}
	if done.Sealed > 0 {
		advice := "keep a copy of " + done.Key
		switch {
		case done.KeyFile:
			advice += ", or add it with --with-secrets-key"
		case withKey:
			advice = done.Key + " does not exist, see weir secrets list"
		}
		fmt.Fprintf(env.stderr, "%d secrets in the backup are sealed, and their key is not in it: %s\n", done.Sealed,
			advice)
	}
	_, err = fmt.Fprintf(env.stdout, "%s: %d bytes, %d files, schema %d, as of %s\n", done.Path, done.Size,
		len(done.Manifest.Files), done.Manifest.Schema, done.Manifest.Created.Format(time.RFC3339))
	return err
}

func newBackupCheck(env *environment) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "check FILE|DIR|s3://BUCKET/PREFIX",
		Short: "Restore a backup into a temporary directory, verify its ledger, and delete it again",
		Long: "Restore a backup into a temporary directory, verify its ledger, and delete it again. The directory\n" +
			"needs as much disk space as the database.",
		Example: "  weir backup check /backup/weir.backup", Args: oneArg("a backup"),
		RunE: func(cmd *cobra.Command, args []string) error {
			temp, err := os.MkdirTemp(dir, "weir-check-")
			if err != nil {
				return err
			}
			cfg, err := env.loadConfig("")
			if err == nil {
				cfg.Data, cfg.Database = filepath.Join(temp, "data"), llm.Secret{}
				_, err = restore(cmd, env, cfg, admin.RestoreOptions{From: args[0]})
			}
			if rest := os.RemoveAll(temp); rest != nil {
				return fmt.Errorf("delete the restored copy: %w", rest)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "temp", "", "parent of the temporary directory (default the system's)")
	return cmd
}

func newRestore(env *environment) *cobra.Command {
	var until restoreUntil
	cmd := &cobra.Command{
		Use:   "restore FILE|DIR|s3://BUCKET/PREFIX",
		Short: "Create a data directory from a backup, and verify its ledger",
		Long: "Create a data directory from a backup, and verify its ledger. The directory must be empty or\n" +
			"missing. The backup is a file from weir backup, or the directory or bucket of backup.to in the\n" +
			"configuration. From a directory or bucket, weir restores the newest backup of the database and the\n" +
			"journal since then. All other data are from the time of the database's backup: keys that were\n" +
			"revoked later are valid again. Requests that were in flight are settled as unknown, at their upper\n" +
			"bound. The key of sealed secrets is in the backup only with --with-secrets-key: otherwise copy the\n" +
			"file secrets.key too. If a restore is interrupted, run it again.",
		Example: "  weir restore /backup/weir.backup --data /var/lib/weir\n" +
			"  weir restore s3://backups/weir --until 2026-11-25T12:00:00Z --data /var/lib/weir",
		Args: oneArg("a backup"),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := env.loadConfig("")
			if err != nil {
				return err
			}
			done, err := restore(cmd, env, cfg, admin.RestoreOptions{From: args[0], Until: until.Time})
			if done.Sealed > 0 {
				fmt.Fprintf(env.stderr, "%d secrets in the database are sealed, and their key is not in the backup: "+
					"copy secrets.key of the former data directory to %s, or set `secrets.key` in the "+
					"configuration, before you run weir serve\n", done.Sealed, done.KeyFile)
			}
			return err
		},
	}
	cmd.Flags().Var(&until, "until", "restore the state of this time, from a directory or a bucket")
	return cmd
}

// restoreUntil is the value of a flag that holds an RFC 3339 time.
type restoreUntil struct{ time.Time }

// Set parses the time.
func (u *restoreUntil) Set(text string) (err error) {
	if u.Time, err = time.Parse(time.RFC3339, text); err != nil {
		return errors.New("it is not a time such as 2026-11-25T12:00:00Z")
	}
	return nil
}

// String formats the time, or returns "" if there is none.
func (u *restoreUntil) String() string {
	if u.IsZero() {
		return ""
	}
	return u.Format(time.RFC3339)
}

// Type returns the name of the value in the help.
func (u *restoreUntil) Type() string { return "time" }

// restore restores a backup into the data directory. It fails, too, if the restored ledger has differences.
func restore(cmd *cobra.Command, env *environment, cfg config.Config, o admin.RestoreOptions) (admin.Restored, error) {
	unpacked, verified := newProgress(env.stderr, "bytes unpacked"), newProgress(env.stderr, "rows verified")
	o.Unpacked, o.Verified, o.By, o.Log = unpacked.show, verified.show, actor(), env.logger(&cfg)
	done, err := admin.Restore(cmd.Context(), cfg, o)
	unpacked.done()
	verified.done()
	if err != nil {
		return done, err
	}
	v := &done.Verification
	for i := range v.Differences {
		fmt.Fprintln(env.stdout, differenceLine(&v.Differences[i]))
	}
	_, err = fmt.Fprintf(env.stdout, "restored as of %s: %d rows (%d unknown), %d sums: %d differences\n",
		done.AsOf.Format(time.RFC3339), v.Rows, v.Unknown, v.Rollups, len(v.Differences))
	if err == nil && len(v.Differences) > 0 {
		err = errQuiet
	}
	return done, err
}
