package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/troupe-go/troupe/hocon"
)

type configCmd struct {
	File   string `arg:"" help:"The file to resolve."`
	Origin bool   `help:"Print no values. Print for every key where its value comes from: file:line:column, the substitution it came through, the environment variable, the includes."`
}

// Help is what troupe config --help says at length.
func (configCmd) Help() string {
	return "Without -origin all values are printed as they are, those taken from the environment, too: passwords and tokens show. " +
		"Values are hidden only where a program reads them into a hocon.Secret, which this command cannot know. " +
		"With -origin only keys, places, substitutions and names of variables are printed."
}

// Run prints the resolved configuration, or its origins. What is wrong with the file is printed as
// file:line:column: text.
func (c configCmd) Run(std *streams) error {
	show := printJSON
	if c.Origin {
		show = printOrigins
	}
	conf, err := resolved(c.File)
	if err == nil {
		err = show(std.out, conf)
	}
	var he *hocon.Error
	if errors.As(err, &he) {
		fmt.Fprintln(std.err, he.Error())
		return exitCode(1)
	}
	return err
}

func resolved(file string) (*hocon.Config, error) {
	if _, err := os.Stat(file); err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, fmt.Errorf("the file %s cannot be read: %w", file, err)
	}
	c, err := hocon.ParseFile(file)
	if err != nil {
		return nil, err
	}
	return c.Resolve()
}

func printJSON(w io.Writer, c *hocon.Config) error {
	text, err := c.JSON()
	if err == nil {
		_, err = fmt.Fprintln(w, string(text))
	}
	return err
}

// printOrigins prints a line for each leaf: its key, and where its value comes from.
func printOrigins(w io.Writer, c *hocon.Config) error {
	origins, err := c.Origins()
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(w)
	table := tabwriter.NewWriter(buffered, 0, 8, 2, ' ', 0)
	for _, o := range origins {
		fmt.Fprintf(table, "%s\t%s\n", o.Key, origin(o))
	}
	return errors.Join(table.Flush(), buffered.Flush())
}

// origin says where a value comes from, in words.
func origin(o hocon.Origin) string {
	text := o.Place.String()
	if o.Substitution != "" && o.SubstitutionAt != o.Place {
		text += ", by " + o.Substitution + " at " + o.SubstitutionAt.String()
	} else if o.Substitution != "" {
		text += ", by " + o.Substitution
	}
	if o.Variable != "" {
		text += ", from the environment variable " + o.Variable
	}
	for i, p := range o.Included {
		if i == 0 {
			text += ", included"
		}
		text += " at " + p.String()
	}
	return text
}
