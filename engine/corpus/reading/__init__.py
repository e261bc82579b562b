"""Which files of a folder are read, and why the others are not.

listing       all files of a folder with their verdicts
walk          every file once                                 gitignore    the rules of git, as git reads them
git           queries, without running what it configures    languages    what a path says about a file
kinds         code, prose, data, configuration or generated
rules         the decision, cheapest question first           verdict      what it is, with its reason
safe_opening  bytes: no link, no pipe, no endless growth      text         bytes to text: which encoding, or none
secrets       places that look like secrets                   secret_formats   known by their shape
secret_names  names that are given secrets                    secret_contexts  places where secrets stand
secret_values whether a value is one
near_duplicates  texts that are nearly the same               duplicate_candidates  what a change may affect
overrides     the user's own choices                          settings     what can be set about reading
byte_passes   the passes over every byte, compiled            verdict_cache  results of reading, kept between scans
scan_progress progress and cancellation                       disk         locking, and errors of writing
known_folders the folders that have been read, and which belong together
"""
