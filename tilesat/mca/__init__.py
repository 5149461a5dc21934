"""What assembled code takes of an SM: loops of a cubin or of PTX, instructions and cycles by unit, a predicted time.

    listing      a disassembly as instructions with their control codes
    descriptors  the shapes of products in tensor memory
    flow         blocks, loops, and the path of an iteration
    units        which unit an instruction takes, for how long, and when its result is there
    waits        round trips to global memory
    timing       the warps of a scheduler through iterations of a path
    agents       what an iteration of all agents of a kernel takes together
    report       the figures of a loop as text and as plain data

Everything is predicted by the tables of the target; only a card measures.
"""
