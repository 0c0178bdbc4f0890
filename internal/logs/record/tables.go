package record

import (
	"sync/atomic"

	"cudacompat/internal/tables"
)

// names holds the tables of statuses, libraries and Xids that a site gave instead of the embedded ones.
var names atomic.Pointer[tables.Tables]

// UseTables makes all later reading use the names of these tables instead of the embedded ones. They include a site's
// own rows.
func UseTables(t *tables.Tables) { names.Store(t) }

// Tables returns the tables of names.
func Tables() *tables.Tables {
	if t := names.Load(); t != nil {
		return t
	}
	return tables.Embedded()
}
