// SPDX-License-Identifier: MIT
pragma solidity 0.8.35;

/**
 * Pays all lines of a batch from the caller's own funds, or none of them; a batch at most once, never after its time,
 * only from the wallet and only on the chain that it names. It has no owner, keeps no funds and moves nobody else's:
 * an allowance given to it can be used by the wallet that gave it, and by nobody else.
 *
 * The build is frozen, as that of the Collector is.
 */
contract Payer {
    /// A payment of the batch. The zero address as the token means the native coin.
    struct Line {
        address token;
        address to;
        uint256 amount;
    }

    /// The batch is to be paid by another wallet.
    error WrongPayer();

    /// The batch is to be paid on another chain: this contract has one address on all of them.
    error WrongChain();

    /// The batch was paid before.
    error AlreadyPaid();

    /// The batch may not be paid any more: its lines may stand in another one by now.
    error Expired();

    /// The line with this index, counted from 0, was refused. Nothing was paid.
    error LineFailed(uint256 index);

    /// The native coin that was sent is not the sum of the native lines.
    error WrongValue();

    /// The batch was paid. `content` is keccak256(abi.encode(validUntil, lines)): it says which lines.
    event Paid(address indexed payer, bytes32 indexed batch, bytes32 content);

    /// Whether `payer` has paid `batch`. It is kept for each payer, so that nobody can use up the batch of another.
    mapping(address payer => mapping(bytes32 batch => bool)) public isPaid;

    /**
     * Pays `lines` in their order. Tokens are taken from the caller, who has approved their sums before; the native
     * coin is what was sent along. `validUntil` is the time of the last block that may hold the payment, in Unix
     * seconds.
     */
    function pay(address payer, uint256 chainId, bytes32 batch, uint256 validUntil, Line[] calldata lines)
        external
        payable
    {
        if (msg.sender != payer) revert WrongPayer();
        if (block.chainid != chainId) revert WrongChain();
        if (block.timestamp > validUntil) revert Expired();
        if (isPaid[msg.sender][batch]) revert AlreadyPaid();
        isPaid[msg.sender][batch] = true;
        uint256 left = msg.value;
        for (uint256 i = 0; i < lines.length; ++i) {
            Line calldata line = lines[i];
            bool isDone;
            if (line.token == address(0)) {
                if (line.amount > left) revert WrongValue();
                left -= line.amount;
                isDone = _send(line.to, line.amount);
            } else {
                isDone = _transfer(line.token, line.to, line.amount);
            }
            if (!isDone) revert LineFailed(i);
        }
        if (left != 0) revert WrongValue();
        emit Paid(msg.sender, batch, keccak256(abi.encode(validUntil, lines)));
    }

    /// Sends the native coin. The receiver's answer is not copied, so that a long one costs the caller nothing.
    function _send(address to, uint256 amount) private returns (bool isDone) {
        assembly ("memory-safe") {
            isDone := call(gas(), to, amount, 0, 0, 0, 0)
        }
    }

    /**
     * Takes tokens from the caller. Tokens answer 1, or nothing at all as USDT does; an address without code answers
     * nothing either, and is no token.
     */
    function _transfer(address token, address to, uint256 amount) private returns (bool isDone) {
        bytes memory order = abi.encodeWithSelector(0x23b872dd, msg.sender, to, amount);
        assembly ("memory-safe") {
            isDone := call(gas(), token, 0, add(order, 0x20), mload(order), 0, 0x20)
            switch returndatasize()
            case 0 { isDone := and(isDone, gt(extcodesize(token), 0)) }
            default { isDone := and(isDone, and(gt(returndatasize(), 0x1f), eq(mload(0), 1))) }
        }
    }
}
