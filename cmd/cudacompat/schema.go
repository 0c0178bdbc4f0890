package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"cudacompat/internal/report"
	"cudacompat/internal/usage"

	"github.com/spf13/cobra"
)

func schemaCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use: "schema [NAME]", Args: atMostOne,
		Short:       "Print the JSON schema of what a command writes",
		Long:        "Prints the JSON schema (draft 2020-12) of a form of JSON that a command writes: diagnosis, explanation, facts, fleet, guard, report or requires. Without NAME, lists them. A schema refers to others by their file names, NAME-v1.json.",
		Example:     "  cudacompat schema\n  cudacompat schema report >report-v1.json",
		Annotations: map[string]string{exitNote: exitPlain},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listSchemas(s)
			}
			return printSchema(s, args[0])
		},
	}
}

// schemaEnd is the end of a schema's file name.
const schemaEnd = "-v1.json"

func schemaNames() ([]string, error) {
	files, err := fs.Glob(report.Schemas, "schema/*"+schemaEnd)
	for i, file := range files {
		files[i] = strings.TrimSuffix(strings.TrimPrefix(file, "schema/"), schemaEnd)
	}
	return files, err
}

func printSchema(s streams, name string) error {
	names, err := schemaNames()
	if err != nil {
		return err
	}
	for _, known := range names {
		if known == name {
			page, err := report.Schemas.ReadFile("schema/" + name + schemaEnd)
			if err != nil {
				return err
			}
			return writePage(s.out, page)
		}
	}
	return usage.RejectUnknown("schema", name, names)
}

// listSchemas writes a line for each schema: its name and the first sentence of its description.
func listSchemas(s streams) error {
	names, err := schemaNames()
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, name := range names {
		page, err := report.Schemas.ReadFile("schema/" + name + schemaEnd)
		if err != nil {
			return err
		}
		var schema struct{ Description string }
		if err := json.Unmarshal(page, &schema); err != nil {
			return err
		}
		sentence, _, _ := strings.Cut(schema.Description, ". ")
		fmt.Fprintf(&list, "%-11s  %s\n", name, strings.TrimSuffix(sentence, ".")+".")
	}
	return writePage(s.out, []byte(list.String()))
}
