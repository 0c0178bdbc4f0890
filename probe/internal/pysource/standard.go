package pysource

import (
	"fmt"
	"strings"
	"sync"
)

// Standard reports whether a module belongs to the standard library of a Python, "3.12.3", or if that is unknown, of
// any from 3.6 to 3.14: sys.stdlib_module_names, and before 3.10 the files in its directory.
func Standard(module, python string) bool {
	if !standard()[module] {
		return false
	}
	minor := 0
	if _, err := fmt.Sscanf(python, "3.%d", &minor); err != nil {
		return true
	}
	first, comes := since[module]
	last, goes := until[module]
	return !(comes && minor < first) && !(goes && minor > last)
}

// since and until are the first and the last minor release of Python 3 that has a module.
var (
	since = map[string]int{"contextvars": 7, "dataclasses": 7, "graphlib": 9, "zoneinfo": 9, "tomllib": 11, "annotationlib": 14,
		"compression": 14}
	until = map[string]int{"macurl2path": 6, "macpath": 7, "dummy_threading": 8, "formatter": 9, "parser": 9, "symbol": 9,
		"binhex": 10, "asynchat": 11, "asyncore": 11, "distutils": 11, "imp": 11, "smtpd": 11, "aifc": 12, "audioop": 12,
		"cgi": 12, "cgitb": 12, "chunk": 12, "crypt": 12, "imghdr": 12, "lib2to3": 12, "mailcap": 12, "nis": 12, "nntplib": 12,
		"ossaudiodev": 12, "pipes": 12, "sndhdr": 12, "spwd": 12, "sunau": 12, "telnetlib": 12, "uu": 12, "xdrlib": 12}
)

var standard = sync.OnceValue(func() map[string]bool {
	list := map[string]bool{}
	for name := range strings.FieldsSeq(standardNames) {
		list[name] = true
	}
	return list
})

const standardNames = "__future__ __main__ _abc _aix_support _android_support _ast _asyncio _bisect _blake2 _bootlocale " +
	"_bootsubprocess _bz2 _codecs _codecs_cn _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw " +
	"_collections _collections_abc _colorize _compat_pickle _compression _contextvars _crypt _csv _ctypes " +
	"_ctypes_test _curses _curses_panel _datetime _dbm _decimal _dummy_thread _elementtree _frozen_importlib " +
	"_frozen_importlib_external _functools _gdbm _hashlib _heapq _imp _interpchannels _interpqueues _interpreters " +
	"_io _ios_support _json _locale _lsprof _lzma _markupbase _md5 _msi _multibytecodec _multiprocessing _opcode " +
	"_opcode_metadata _operator _osx_support _overlapped _peg_parser _pickle _posixshmem _posixsubprocess _py_abc " +
	"_pydatetime _pydecimal _pyio _pylong _pyrepl _queue _random _scproxy _sha1 _sha2 _sha256 _sha3 _sha512 _signal " +
	"_sitebuiltins _socket _sqlite3 _sre _ssl _stat _statistics _string _strptime _struct _suggestions _symtable " +
	"_sysconfig _testbuffer _testcapi _testimportmultiple _testinternalcapi _testmultiphase _thread " +
	"_threading_local _tkinter _tokenize _tracemalloc _typing _uuid _warnings _weakref _weakrefset _winapi _wmi " +
	"_xxsubinterpreters _xxtestfuzz _zoneinfo _zstd abc aifc annotationlib antigravity argparse array ast asynchat " +
	"asyncio asyncore atexit audioop base64 bdb binascii binhex bisect builtins bz2 cProfile calendar cgi cgitb " +
	"chunk cmath cmd code codecs codeop collections colorsys compileall compression concurrent configparser " +
	"contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis " +
	"distutils doctest dummy_threading email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput " +
	"fnmatch formatter fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip " +
	"hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json keyword " +
	"lib2to3 linecache locale logging lzma macpath macurl2path mailbox mailcap marshal math mimetypes mmap " +
	"modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator " +
	"optparse os ossaudiodev parser pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix " +
	"posixpath pprint profile pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re " +
	"readline reprlib resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site " +
	"smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics " +
	"string stringprep struct subprocess sunau symbol symtable sys sysconfig syslog tabnanny tarfile telnetlib " +
	"tempfile termios textwrap this threading time timeit tkinter token tokenize tomllib trace traceback " +
	"tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave weakref " +
	"webbrowser winreg winsound wsgiref xdrlib xml xmlrpc xxlimited xxsubtype zipapp zipfile zipimport zlib " +
	"zoneinfo "
