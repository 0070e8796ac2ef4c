package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/troupe-go/troupe/hocon"
)

type configCmd struct {
	File string `arg:"" help:"The file to resolve."`
}

// Run prints the resolved configuration. What is wrong with the file is printed as file:line:column: text.
func (c configCmd) Run(std *streams) error {
	text, err := resolved(c.File)
	if err != nil {
		var he *hocon.Error
		if errors.As(err, &he) {
			fmt.Fprintln(std.err, he.Error())
			return exitCode(1)
		}
		return err
	}
	_, err = fmt.Fprintln(std.out, text)
	return err
}

func resolved(file string) (string, error) {
	if _, err := os.Stat(file); err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return "", fmt.Errorf("the file %s cannot be read: %w", file, err)
	}
	c, err := hocon.ParseFile(file)
	if err != nil {
		return "", err
	}
	if c, err = c.Resolve(); err != nil {
		return "", err
	}
	b, err := c.JSON()
	return string(b), err
}
