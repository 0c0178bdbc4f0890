package host

// NonBlock is no flag under js, where open knows none and nothing but texts is opened.
const NonBlock = 0
